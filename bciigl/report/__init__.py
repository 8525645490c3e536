"""How a person sees it: figures, and reports as pages."""
