"""
Probabilities that can be believed
==================================

Of all examples to which a model assigns a class with 80 %, about 80 % should be of that class. The
logistic rule learns probabilities; the scores of an SVM are calibrated afterwards, in one line.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve

from widemargin import LinearSVM, OnlineLogistic

rng = np.random.default_rng(0)
X = rng.normal(size=(12000, 5))
y = (X @ [1.0, -0.7, 0.5, 0.0, 0.0] + rng.logistic(size=12000) > 0).astype(int)
X, X_test, y, y_test = X[:4000], X[4000:], y[:4000], y[4000:]
models = {
    "OnlineLogistic": OnlineLogistic(eta=0.01, random_state=0),
    "LinearSVM, calibrated": CalibratedClassifierCV(LinearSVM(random_state=0)),
}
figure, ax = plt.subplots(layout="constrained")
ax.plot([0, 1], [0, 1], color="grey", linestyle="dashed", label="perfectly calibrated")
for (name, model), marker in zip(models.items(), "ox", strict=True):
    likely = model.fit(X, y).predict_proba(X_test)[:, 1]
    share, said = calibration_curve(y_test, likely, n_bins=10)
    ax.plot(said, share, marker=marker, label=name)
    print(f"{name:<24}off by {np.abs(share - said).mean():.3f} on average over ten groups")
ax.set(xlabel="predicted probability", ylabel="observed share")
ax.legend()
