from npi.cli import entry

entry()
