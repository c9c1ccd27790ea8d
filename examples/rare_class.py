"""
A rare class and its threshold
==============================

One example in twenty is of the class that matters. The most accurate answer is hardly ever "yes";
a decision threshold chosen on held-out examples finds more of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import LinearSVM, curves, plot_precision_recall, plot_roc

rng = np.random.default_rng(0)
rare = rng.random(6000) < 0.05
X = rng.normal(size=(6000, 5)) + 0.8 * rare[:, None]
(X_fit, X_held, X_new), (y_fit, y_held, y_new) = np.split(X, 3), np.split(rare, 3)
plain = LinearSVM(random_state=0).fit(X_fit, y_fit)
tuned = plain.with_threshold("recall=0.7", X_held, y_held)
for name, model in (("threshold 0", plain), ("chosen for a recall of 0.7", tuned)):
    said = model.predict(X_new)
    found, alarms = int(np.sum(said & y_new)), int(np.sum(said & ~y_new))
    print(f"{name}: {found} of {y_new.sum()} found, {alarms} false alarms")
print(curves(y_new, plain.decision_function(X_new)))

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
plot_roc(tuned, X_new, y_new, ax=axes[0])
plot_precision_recall(tuned, X_new, y_new, ax=axes[1])
