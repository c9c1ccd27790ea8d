"""
A table with words and missing cells
====================================

Columns are used as they are: numbers are scaled, strings become categories, and missing cells are
filled and marked. A model accepts columns in any order, and categories that it has never seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import TableClassifier

rng = np.random.default_rng(0)
n = 400
weight = rng.normal(12.0, 8.0, n).round(1)
food = rng.choice(["fish", "meat", "milk"], n)
kind = np.where(weight + 6.0 * (food == "meat") - 5.0 * (food == "milk") > 12.0, "dog", "cat")
weight[rng.random(n) < 0.1] = np.nan
pets = {"weight": weight, "food": food, "kind": kind}
model = TableClassifier(validation=0.2, random_state=0).fit(pets, "kind")
print(model.history_)
print(model.predict({"food": ["meat", "bread"], "weight": [20.0, None]}))
print(model.explain({"food": ["meat"], "weight": [20.0]}, top=3))

# %%
# What the model has learned: meat speaks for a dog, milk for a cat, and a heavy animal for a dog.

found = model.top_features(8)
signed = [*found["dog"], *((name, -weight) for name, weight in found["cat"])]
names, weights = zip(*sorted(signed, key=lambda one: one[1]), strict=True)
figure, ax = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
ax.barh(names, weights, color=["#6a3d9a" if weight > 0 else "#e07b00" for weight in weights])
ax.axvline(0, color="black", linewidth=0.8)
ax.set_xlabel("weight: for a cat (left) or for a dog (right)")
