"""
A table with words and missing cells
====================================

Columns are taken as they are: numbers are scaled, words become categories, gaps are filled and
marked. A model answers for columns in any order, and for categories that it has never seen.
"""

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
