"""A web page that shows the tree of a sentence typed by the user."""
