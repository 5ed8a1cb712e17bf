#include "report/messages.h"

#include <fcntl.h>
#include <unistd.h>

namespace fettle::tools {

void HoldStandardStreams() {
  // The least free number is taken: in this order each gets its own.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace fettle::tools
