#include "errno-name.h"

#include <errno.h>

/* What starting a program and writing its files may end with. */
#define ERRORS(NAME)                                                                                                              \
  NAME(E2BIG) NAME(EACCES) NAME(EAGAIN) NAME(EBADF) NAME(EBUSY) NAME(ECHILD) NAME(EDQUOT) NAME(EEXIST) NAME(EFAULT) NAME(EFBIG)   \
  NAME(EINTR) NAME(EINVAL) NAME(EIO) NAME(EISDIR) NAME(ELIBBAD) NAME(ELOOP) NAME(EMFILE) NAME(EMLINK) NAME(ENAMETOOLONG)          \
  NAME(ENFILE) NAME(ENODEV) NAME(ENOENT) NAME(ENOEXEC) NAME(ENOLCK) NAME(ENOMEM) NAME(ENOSPC) NAME(ENOSYS) NAME(ENOTCONN)         \
  NAME(ENOTDIR) NAME(ENOTEMPTY) NAME(ENOTSUP) NAME(ENOTTY) NAME(ENXIO) NAME(EOVERFLOW) NAME(EPERM) NAME(EPIPE) NAME(EREMOTEIO)    \
  NAME(EROFS) NAME(ESPIPE) NAME(ESRCH) NAME(ESTALE) NAME(ETIMEDOUT) NAME(ETXTBSY) NAME(EUSERS) NAME(EXDEV)

const char *errno_name(int error) {
  switch (error) {
#define NAME(code) \
  case code: return #code;
    ERRORS(NAME)
#undef NAME
    default: return "EIO";
  }
}
