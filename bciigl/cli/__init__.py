"""How is it called? The command line: one command a file."""
