"""The store: the folder that is the truth. What was found, what was got, what is half got, what
ended and how."""
