/* What tells this program from every other version of it: scripts/build-supervisor makes it of the sources. */
#ifndef HOLDFAST_BUILD_H
#define HOLDFAST_BUILD_H

#ifndef HOLDFAST_BUILD
#define HOLDFAST_BUILD "00000000"
#endif

#endif
