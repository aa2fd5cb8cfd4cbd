import base64
import re
import sys

for line in sys.stdin:
    pattern, text = (base64.b64decode(part).decode() for part in line.rstrip("\n").split(" "))
    print("".join(str(int(bool(match(pattern, text)))) for match in (re.search, re.match, re.fullmatch)))
