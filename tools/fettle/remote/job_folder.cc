#include "remote/job_folder.h"

#include <sstream>

namespace fettle::tools {
namespace {

/// In one line each but for what is written to files: a login shell of adb's may take no more.
constexpr const char* kPrepare =
    "for base in /data/local/tmp \"${{TMPDIR:-/tmp}}\"; do "
    "[ -d \"$base\" ] && [ -w \"$base\" ] && break; done; "
    "folder=$base/{0}; umask 077; mkdir \"$folder\" 2>/dev/null; "
    "if [ ! -d \"$folder\" ] || [ -L \"$folder\" ] || [ ! -O \"$folder\" ]; then "
    "echo \"refused $folder\"; exit 1; fi; "
    "cd \"$folder\" && mkdir -p in work cache && : >asked && echo {2} >owner || {{ echo \"refused "
    "$folder\"; exit 1; "
    "}}; "
    "echo \"folder $folder\"; "
    "if [ -e rc ]; then echo job done; "
    "elif [ -e pid ] && kill -0 \"$(cat pid)\" 2>/dev/null; then echo job running; "
    "else rm -rf started pid job.pid stop; echo job none; fi; "
    "[ ! -d {1} ] || echo runner; for file in in/*; do "
    "case $file in *.part) ;; *) [ -f \"$file\" ] && echo \"file $(wc -c <\"$file\") $file\" ;; "
    "esac; done; true";

constexpr const char* kStart =
    "cd {0} && printf %s {1} >supervise.sh && printf %s {2} >job || exit 1; "
    "if command -v setsid >/dev/null 2>&1; then "
    "setsid sh {0}/supervise.sh {3} </dev/null >/dev/null 2>&1 & "
    "else nohup sh {0}/supervise.sh {3} </dev/null >/dev/null 2>&1 & fi";

/// A job that has just been started has no process yet. A turn starts no program but `sleep`, as
/// something is being timed here.
constexpr const char* kWait =
    "cd {0} 2>/dev/null || {{ echo lost; exit 0; }}; absent=0; pause=0.2; turns=0; "
    "while [ ! -e rc ]; do "
    "if {{ read -r job <pid && kill -0 $job; }} 2>/dev/null; then absent=0; "
    "else absent=$((absent + 1)); fi; "
    "[ $absent -lt 10 ] || {{ echo lost; exit 0; }}; "
    "{{ read -r now <owner; }} 2>/dev/null; [ \"$now\" = {4} ] || {{ echo taken; exit 0; }}; "
    ": >asked; echo wait; turns=$((turns + 1)); [ $turns -lt 50 ] || pause=0.5; "
    "sleep $pause 2>/dev/null || sleep 1; done; "
    "echo \"done $(cat rc)\"; : >asked; "
    "for file in {1} {2} {3} work/*; do "
    "[ -f \"$file\" ] && echo \"file $(wc -c <\"$file\") $file\"; done; true";

/// Once more where something that a broken link left was still writing.
constexpr const char* kRemove =
    "cd {0} 2>/dev/null || exit 0; [ \"$(cat owner)\" = {1} ] || exit 0; rm -f pid; "
    "[ -e rc ] || {{ [ -e job.pid ] && kill -KILL \"$(cat job.pid)\" 2>/dev/null; sleep 1; }}; "
    "cd / && rm -rf {0} || {{ sleep 1; rm -rf {0}; }}";

constexpr std::string_view kSupervisor =
    R"sh(# Runs the job of this folder without a link, keeps its
# results, and removes the folder once nobody has asked for it for $1 seconds.
cd "${0%/*}" || exit 1
mkdir started 2>/dev/null || exit 0
echo $$ >pid
(
  cd work || exit 1
  sh ../job >../out 2>../log </dev/null
  code=$?
  if [ -e ../pid ]; then
    sh ../runner/run db export ../rows.jsonl --cache ../cache >/dev/null 2>&1
    echo $code >../rc.part && mv ../rc.part ../rc
  fi
) &
idle=0
while [ -e pid ]; do
  sleep 1
  idle=$((idle + 1))
  if [ -e asked ]; then
    rm -f asked
    idle=0
  fi
  if [ -e stop ] && [ -e job.pid ]; then
    rm -f stop
    kill -TERM "$(cat job.pid)"
  fi
  if [ "$idle" -ge "$1" ]; then
    rm -f pid
    if [ ! -e rc ] && [ -e job.pid ]; then
      kill -KILL "$(cat job.pid)"
      sleep 1
    fi
    rm -rf "$PWD"
  fi
done
)sh";

/// "file 123 in/model.onnx"
void ReadFileLine(const std::string& line, std::map<std::string, int64_t>& files) {
  std::istringstream words(line.substr(5));
  int64_t bytes = 0;
  std::string name;
  if (words >> bytes && std::getline(words >> std::ws, name)) files[name] = bytes;
}

Status Refused(const Link& link, const std::string& what) {
  return Error(StatusCode::kDeviceError, "{}: {}", link.target().text, what);
}

/// The file `job`.
std::string JobScript(const std::vector<std::string>& words) {
  // A target is none of its own, whatever variables it has.
  std::string script =
      "unset FETTLE_REMOTE FETTLE_JSON\necho $$ >../job.pid\nexec sh ../runner/run";
  for (const std::string& word : words) script += " " + ShellWord(word);
  return script + "\n";
}

}  // namespace

Result<FolderState> PrepareFolder(Link& link, const std::string& name, const std::string& owner) {
  FolderState state;
  state.owner = owner;
  std::string refused = "no POSIX shell answers";
  const auto read = [&](const std::string& line) {
    if (line.starts_with("folder ")) state.path = line.substr(7);
    if (line == "job running") state.job = FolderState::Job::kRunning;
    if (line == "job done") state.job = FolderState::Job::kDone;
    if (line == "runner") state.has_runner = true;
    if (line.starts_with("file ")) ReadFileLine(line, state.files);
    if (line.starts_with("refused "))
      refused = line.substr(8) + " cannot be made or belongs to somebody else";
  };
  ASSIGN_OR_RETURN(const int code,
                   link.Run(fmt::format(kPrepare, name, kRunnerFolder, owner), read));
  if (code != 0 || state.path.empty()) return Refused(link, refused);
  return state;
}

Status StartJob(Link& link, const FolderState& folder, const std::vector<std::string>& words,
                int hold_seconds) {
  const std::string command = fmt::format(kStart, ShellWord(folder.path), ShellWord(kSupervisor),
                                          ShellWord(JobScript(words)), hold_seconds);
  ASSIGN_OR_RETURN(const int code, link.Run(command));
  if (code != 0) return Refused(link, "the job cannot be written: is the disk full?");
  return OkStatus();
}

Result<JobEnd> WaitForJob(Link& link, const FolderState& folder) {
  JobEnd end;
  const auto read = [&](const std::string& line) {
    if (line.starts_with("done ")) {
      end.kind = JobEnd::Kind::kDone;
      end.exit_code = std::atoi(line.c_str() + 5);
    }
    if (line == "taken") end.kind = JobEnd::Kind::kTaken;
    if (line.starts_with("file ")) ReadFileLine(line, end.files);
  };
  ASSIGN_OR_RETURN(const int code,
                   link.Run(fmt::format(kWait, ShellWord(folder.path), kDocumentFile, kLogFile,
                                        kRowsFile, folder.owner),
                            read));
  if (code != 0) return Refused(link, "waiting for the job failed");
  return end;
}

Status StopJob(Link& link, const FolderState& folder) {
  return link.Run(fmt::format(": >{}/stop", ShellWord(folder.path))).status();
}

Status RemoveFolder(Link& link, const FolderState& folder) {
  return link.Run(fmt::format(kRemove, ShellWord(folder.path), folder.owner)).status();
}

}  // namespace fettle::tools
