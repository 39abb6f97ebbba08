"""What each task does, and what follows from how it ended. No dramatiq, requests or redis in
here."""
