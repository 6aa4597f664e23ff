#!/bin/sh
# A first day with own data: a CSV as spreadsheets write it -> new -> tune -> fit -> predict -> the same in Python.
# Takes a minute; BUDGET is the time of `kfeat tune`. PYTHON is the one that has kfeat.
set -eu
PYTHON=${PYTHON:-python} BUDGET=${BUDGET:-20s}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export KFEAT_CACHE="$folder/cache"

"$PYTHON" - <<'END'
import random

draw = random.Random(0)
rows = []
for _ in range(800):
    age, city, income = draw.randint(18, 80), draw.choice(["Bonn, West", "Oslo", "Rome"]), draw.gauss(3000, 900)
    near = (age - 50) ** 2 / 300 + ((income - 3000) / 900) ** 2 + (city == "Rome")
    rows.append([str(age), f'"{city}"', f"{income:.2f}", "yes" if near < 1.8 else "no"])
rows[7][0] = ""  # a missing value
with open("own.csv", "w", encoding="utf-8-sig", newline="") as file:  # byte order mark, CRLF, quotes
    file.writelines(",".join(row) + "\r\n" for row in [["age", "city", "income", "buys"], *rows])
with open("new.csv", "w") as file:  # other rows: another order of columns, and no target
    file.writelines(f"{row[2]},{row[1]},{row[0]}\n" for row in [["age", "city", "income"], *rows[:200]])
END

kfeat() { "$PYTHON" -m kfeat "$@"; }

kfeat new own.csv --target buys --out own.yaml
grep "missing:" own.yaml # what becomes of the missing value is said there
kfeat tune own.yaml --budget "$BUDGET" --out tuned.yaml
kfeat fit tuned.yaml --model own.kfeat
kfeat info own.kfeat
kfeat score --model own.kfeat own.csv
kfeat predict --model own.kfeat new.csv --scores --out predictions.csv

"$PYTHON" - <<'END'
import numpy as np
import pandas as pd

import kfeat

model = kfeat.load_model("own.kfeat")
rows, written = pd.read_csv("new.csv"), pd.read_csv("predictions.csv")
assert list(model.predict(rows)) == list(written["prediction"])
np.testing.assert_allclose(model.decision_function(rows), written.iloc[:, 1], rtol=0, atol=1e-12)
assert model.about_["scores"]["accuracy"] > 0.8, model.about_["scores"]
print("the first day went well")
END
