"""How a person sees it: figures."""
