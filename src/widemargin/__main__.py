"""`python -m widemargin` is the shell program."""

from widemargin.cli import main

main()
