"""Writes profiles as C strings: embed.py OUT.c FILE.profile ..."""
import os
import sys

with open(sys.argv[1], 'w') as out:
    out.write('#include "bench/profile.h"\n\nconst struct profile_builtin profile_builtins[] = {\n')
    for path in sys.argv[2:]:
        name = os.path.basename(path).removesuffix('.profile')
        out.write('\t{ "%s",\n' % name)
        for line in open(path):
            text = line.rstrip('\n').replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t')
            out.write('\t  "%s\\n"\n' % text)
        out.write('\t},\n')
    out.write('\t{ 0 },\n};\n')
