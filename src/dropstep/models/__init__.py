"""Models: what can be searched. Each family is one folder and knows nothing of the others."""
