"""What answers a browser or a program over HTTP: the server of trained models, and the lab."""
