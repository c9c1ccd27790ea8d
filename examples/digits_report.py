"""
Handwritten digits: the weights as images
=========================================

Train a model, look at its weights, and see which digits are confused.
``learner.report("page.html", X, y)`` puts all of this, and more, on one page.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from widemargin import Perceptron, plot_confusion, plot_weights

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
p = Perceptron(epochs=20, validation=0.2, random_state=0).fit(X, y)
print(f"accuracy on new digits: {p.score(X_test, y_test):.4f}")

# %%
# Purple speaks for the digit, orange against it:

plot_weights(p, shape=(8, 8))

# %%

plot_confusion(p, X_test, y_test)
