#include "remote/transport.h"

#include <algorithm>
#include <string_view>

namespace fettle::tools {
namespace {

/// Keys are the agent's or the user's configuration: nothing is asked for in the middle of a job. A
/// link that says nothing for half a minute is a broken one. A connection that other programs share
/// would live on behind a link that was given up.
Words RunBySsh(const Target& target, const std::string& command) {
  return {"ssh", "-T", "-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=10",
          "-oServerAliveCountMax=3", "-oControlPath=none", "--", target.address,
          // Whatever the user's login shell is.
          "exec sh -c " + ShellWord(command)};
}

Words RunByAdb(const Target& target, const std::string& command) {
  return {"adb", "-s", target.address, "shell", command};
}

Words PushByAdb(const Target& target, const std::string& from, const std::string& to) {
  return {"adb", "-s", target.address, "push", from, to};
}

Words PullByAdb(const Target& target, const std::string& from, const std::string& to) {
  return {"adb", "-s", target.address, "pull", from, to};
}

constexpr Transport kTransports[] = {
    {"ssh", RunBySsh, nullptr, nullptr},
    // Its server on this machine keeps the connection.
    {"adb", RunByAdb, PushByAdb, PullByAdb},
};

}  // namespace

Result<Target> ParseTarget(const std::string& text) {
  for (const Transport& transport : kTransports) {
    const std::string scheme = std::string(transport.name) + ":";
    if (!text.starts_with(scheme)) continue;
    std::string address = text.substr(scheme.size());
    // ssh itself takes ssh://USER@HOST:PORT.
    const bool is_uri = address.starts_with("//");
    const std::string host = is_uri ? address.substr(2) : address;
    if (host.empty() || host[0] == '-' || host.find_first_of(" \t\n") != std::string::npos) break;
    if (is_uri) address = text;
    // An address of IPv6 has more than one.
    if (transport.name == std::string_view("ssh") && !is_uri && std::ranges::count(host, ':') == 1)
      return InvalidArgument("{}: ssh:HOST has no port; expected ssh://{}", text, host);
    return Target{&transport, text, address};
  }
  return InvalidArgument("{}: expected ssh:HOST, ssh://USER@HOST:PORT or adb:SERIAL", text);
}

std::string ShellWord(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

}  // namespace fettle::tools
