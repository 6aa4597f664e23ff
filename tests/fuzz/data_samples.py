"""Small good files of every format, and what seeded damage makes of them."""

import bz2
import gzip
import lzma

import numpy as np
from scipy.sparse import csc_array

from tests.data.files import idx, mat, npz, tgz, zipped

X = np.random.default_rng(0).integers(-2, 3, (12, 5)) * 0.5
Y = np.arange(12) % 2


def rows(separator):
    lines = [
        [*map(str, row), "red" if label else "blue", str(label)] for row, label in zip(X, Y, strict=True)
    ]
    return "\n".join(separator.join(line) for line in lines).encode() + b"\n"


NAMES = ["a", "b", "'c c'", "d", "e", "f", "y"]
OWN = b"\xef\xbb\xbfa,w,,y\r\n" + b'1,red,0,yes\r\n,blue,1,no\r\n2.5,"red",2,yes\r\n?,,3,no\r\n' * 3
TYPES = ["numeric"] * 5 + ["{blue,red}", "{0,1}"]
ARFF = "".join(f"@attribute {name} {kind}\n" for name, kind in zip(NAMES, TYPES, strict=True)).encode()
SVMLIGHT = b"+1 1:0.5 3:-2e1 # c\n-1 2:1\n1 qid:3 1:1\n" * 3
WORDS = {"target": "y", "categorical": "one_hot"}

# name -> content, and how it is to be read
FILES = {
    "svmlight": (SVMLIGHT, {"format": "svmlight"}),
    "csv": (b"a,b,c,d,e,f,y\n" + rows(","), {"format": "csv", **WORDS}),
    "own.csv": (OWN, {"format": "csv", "missing": "mean", "drop": [2], **WORDS}),
    "numbers.csv": (b"1,2,0\n4,5,1\n7,8,0\n", {"format": "csv", "target": -1, "header": False}),
    "blanks": (rows(" "), {"format": "csv", "columns": NAMES, "delimiter": "whitespace", **WORDS}),
    "tsv": (rows("\t"), {"format": "tsv", "header": False, "target": -1, "categorical": "ordinal"}),
    "arff": (b"@relation r\n" + ARFF + b"@data\n" + rows(","), {"format": "arff", **WORDS}),
    "mat": (mat(X=csc_array(X), y=Y), {"format": "mat"}),
    "packed.mat": (mat(compressed=True, X=csc_array(X), y=Y), {"format": "mat"}),
    "dense.mat": (mat(X=X.T, y=Y), {"format": "mat", "samples_in_columns": True}),
    "npz": (npz(X=X.astype(">f4"), y=Y), {"format": "npz"}),
    "idx": (idx(np.abs(X * 2).reshape(12, 5, 1)), {"format": "idx"}),
}
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
for packed, packer in PACKERS.items():
    FILES[f"svmlight.{packed}"] = (packer(SVMLIGHT * 9), {"format": "svmlight"})
FILES["idx.gz"] = (gzip.compress(FILES["idx"][0]), {"format": "idx"})

MEMBERS = {"a/data.txt": b"1,2\n" * 30, "readme": b"-"}
ARCHIVES = {"zip": zipped(MEMBERS), "tgz": tgz(MEMBERS), "tar": gzip.decompress(tgz(MEMBERS))}

NUMBERS = [0, 1, -1, 2**31 - 1, -(2**31), 2**30, 0x80]
TOKENS = [b"nan", b"1e999", b"-inf", b"2000000000:1", b"\0", b"\xff\xfe", b"\x1b[2J", b'"', b"\r", b"\n\n"]
TOKENS += [b",", b" ", b"9" * 400, "é\u2028".encode(), b"?", b"@attribute", b"{", b"%", b"0:1", b"1:1", b"#"]
TOKENS += [b"NA", b"-", b"1_0", b"0x1p3", b"1e400", b"True", b"2020-01-01"]


def damaged(sample, rng):
    """A good file with some of its bytes replaced, cut out, doubled or put in."""
    content = bytearray(sample)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(content) + 1)
        stop = min(len(content), start + rng.randint(0, 8))
        match rng.randrange(7):
            case 0:
                content[start:stop] = rng.randbytes(stop - start)
            case 1:
                del content[start:stop]
            case 2:
                content[start:stop] = bytes(content[start:stop]) * 2
            case 3:
                content[start:stop] = rng.choice(TOKENS)
            case 4:
                content[start : start + 1] = bytes([rng.choice([0, 1, 0x7F, 0x80, 0xFF])])
            case 5:
                start = start // 4 * 4
                content[start : start + 4] = rng.choice(NUMBERS).to_bytes(4, "little", signed=True)
            case 6 if rng.random() < 0.3:
                del content[start:]
    return bytes(content)
