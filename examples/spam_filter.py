"""
A spam filter that explains itself
==================================

A text classifier learns from a handful of messages, names the words that decided, and can be
corrected one message at a time.
"""

from widemargin import TextClassifier, plot_weights

messages = [
    ("win a free prize now", "spam"),
    ("cheap pills, no prescription", "spam"),
    ("you have won a lottery, claim your prize", "spam"),
    ("free money for you", "spam"),
    ("lunch at noon?", "ham"),
    ("the minutes of the meeting", "ham"),
    ("can you send me the slides", "ham"),
    ("happy birthday, see you tonight", "ham"),
]
texts, labels = zip(*messages, strict=True)
spam = TextClassifier(ngrams=1, random_state=0).fit(list(texts), list(labels))
for text in ("claim your free prize", "see you at the meeting"):
    print(spam.explain(text, top=3), end="\n\n")

# %%
# The words that speak for each class most:

plot_weights(spam)
