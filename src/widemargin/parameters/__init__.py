"""Parameters: their values, names and effects, and the settings made from them."""
