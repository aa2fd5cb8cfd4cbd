import re
import sys

for line in sys.stdin:
    pattern, text = (bytes.fromhex(part).decode() for part in line.rstrip("\n").split(" "))
    print("".join(str(int(bool(match(pattern, text)))) for match in (re.search, re.match, re.fullmatch)))
