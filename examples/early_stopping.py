"""
Early stopping
==============

After each epoch, the weights that would be used for prediction are scored on a held-out set. When
the score no longer improves, training stops, and the best weights are returned.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from widemargin import Perceptron, plot_history

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
p = Perceptron(epochs=100, validation=0.2, patience=5, random_state=0).fit(X, y)
print(p.history_)
print(f"accuracy on test digits: {p.score(X_test, y_test):.4f}")

# %%

plot_history(p)
