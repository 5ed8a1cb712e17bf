#include "remote/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <array>

#include "remote/child.h"

namespace fettle::tools {

Result<ProcessEnd> RunProcess(const std::vector<std::string>& command,
                              const ProcessStreams& streams) {
  const OpenFile in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSIGN_OR_RETURN(PipeEnds out, MakePipe());
  ASSIGN_OR_RETURN(PipeEnds err, MakePipe());
  ASSIGN_OR_RETURN(const pid_t pid, StartProcess(command, in.fd(), out.write.fd(), err.write.fd()));
  out.write = OpenFile();
  err.write = OpenFile();
  ProcessEnd end;
  LineReader lines(out.read.fd(), [&](const std::string& line) {
    if (streams.on_line) streams.on_line(line);
  });
  LineReader complaints(err.read.fd(), [&](const std::string& line) {
    if (SaysSomething(line)) end.complaint = line;
  });
  while (lines.open() || complaints.open()) {
    if (streams.cancel != nullptr && *streams.cancel && !end.cancelled) {
      end.cancelled = true;
      ::kill(-pid, SIGKILL);
    }
    std::array<pollfd, 2> wait = {{{lines.fd(), POLLIN, 0}, {complaints.fd(), POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), kPollMilliseconds) <= 0) continue;
    if (wait[0].revents != 0) lines.Read();
    if (wait[1].revents != 0) complaints.Read();
  }
  end.exit_code = WaitForProcess(pid);
  return end;
}

}  // namespace fettle::tools
