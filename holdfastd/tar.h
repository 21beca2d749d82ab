/* The layout of an archive: blocks of 512 bytes, a header for each entry, its bytes after it. */
#pragma once
#include "holdfastd.h"

enum { BLOCK = 512, TAR_NAME = 100 };

struct tar_header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[8], owner[32], group[32], device[16],
      prefix[155], rest[12];
};

unsigned tar_checksum(const struct tar_header *header);
