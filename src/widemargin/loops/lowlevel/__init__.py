"""The only code that writes LLVM by hand, each piece beside the plain function it replaces."""
