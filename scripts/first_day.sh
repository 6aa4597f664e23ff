#!/bin/sh
# A first day with own data: the commands of README.md in an empty folder, then the same predictions in Python.
# Takes a minute; BUDGET is the time of `kfeat tune`. PYTHON is the one that has kfeat.
set -eu
PYTHON=${PYTHON:-python} BUDGET=${BUDGET:-20s}
readme="$(cd "$(dirname "$0")/.." && pwd)/README.md"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export KFEAT_CACHE="$folder/cache"

sed -n '/^## Your own data/,/^## The maps/p' "$readme" | sed -n '/^```sh/,/^```/p' |
  sed "/^\`\`\`/d; s/^kfeat tune \(.*\)--budget 1m/kfeat tune \1--budget $BUDGET/" >commands.sh
grep -q "^kfeat tune .*--budget $BUDGET " commands.sh

kfeat() { "$PYTHON" -m kfeat "$@"; }
. ./commands.sh

"$PYTHON" - <<'END_OF_PYTHON'
import pandas as pd

import kfeat

model = kfeat.load_model("own.kfeat")
rows, written = pd.read_csv("new.csv"), pd.read_csv("predictions.csv")
assert list(model.predict(rows)) == list(written["prediction"])
assert model.about_["scores"]["accuracy"] > 0.8, model.about_["scores"]
assert (written["prediction"] == rows["label"]).mean() > 0.8
print("the first day went well")
END_OF_PYTHON
