"""From the pieces of a video to one file that plays: decrypted, joined, put into one container and
looked at. Works in a folder that it is given and knows no store, no queue and no network."""
