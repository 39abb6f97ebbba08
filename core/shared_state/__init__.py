"""How Redis is reached: a connection a thread, scripts on the server's clock, its faults in our
words."""
