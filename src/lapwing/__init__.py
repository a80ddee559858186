from lapwing._version import __version__
