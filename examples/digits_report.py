"""Handwritten digits: learn, look at the weights, and write a page about the model.

Writes digits.html and digits.png.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from widemargin import Perceptron, plot_weights

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
p = Perceptron(epochs=20, validation=0.2, random_state=0).fit(X, y)
print(f"accuracy on new digits: {p.score(X_test, y_test):.4f}")
plot_weights(p, shape=(8, 8)).figure_.savefig("digits.png", dpi=150)
p.report("digits.html", X_test, y_test, data="the digits of scikit-learn, a quarter held out")
