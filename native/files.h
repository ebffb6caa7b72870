/* What controllers ask of files; docs/supervisor-protocol.md, "Files". */
#ifndef HOLDFAST_FILES_H
#define HOLDFAST_FILES_H

#include <stdbool.h>

struct files;
struct request;

void request_file(struct request *request);
/* Whether a request is not answered yet: it is to be handled again in the next turn of the loop. NULL is no. */
bool files_go_on(const struct files *files);
/* With all handles; what was staged and not committed is gone. NULL is nothing. */
void files_close(struct files *files);

#endif
