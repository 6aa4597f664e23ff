"""
A CSV file of your own
======================

``KernelClassifier`` chooses scaling, kernel, map or exact SVM, the number of features and C within a budget
of seconds. It takes a data frame with words and missing cells as it is.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import ConfusionMatrixDisplay

import kfeat

# %%
# First we write a CSV file with two columns of numbers, one column of words, and a missing cell.

rng = np.random.default_rng(0)
n = 1000
age = rng.integers(18, 80, n).astype(float)
income = rng.normal(3000, 900, n)
city = rng.choice(["Bonn", "Oslo", "Rome"], n)
distance = (age - 50) ** 2 / 300 + ((income - 3000) / 900) ** 2 + (city == "Rome")
age[7] = np.nan
table = {"age": age, "city": city, "income": income, "buys": np.where(distance < 1.8, "yes", "no")}
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "own.csv"
pd.DataFrame(table).to_csv(path, index=False)

# %%
# Then we read it and train on three quarters of the rows. The search takes about five seconds.

frame = pd.read_csv(path)
labels = frame.pop("buys")
model = kfeat.KernelClassifier(budget=5).fit(frame[:750], labels[:750])
print(model.model_)
print(f"accuracy on the other rows: {model.score(frame[750:], labels[750:]):.3f}")

# %%
# The model can be saved and loaded. ``kfeat predict`` takes the same file.

model.save(Path(folder.name) / "own.kfeat")
loaded = kfeat.load_model(Path(folder.name) / "own.kfeat")
ConfusionMatrixDisplay.from_predictions(labels[750:], loaded.predict(frame[750:]))
plt.show()
folder.cleanup()
