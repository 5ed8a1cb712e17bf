// One order on one target, through links that break.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "io/json.h"
#include "remote/link.h"
#include "remote/order.h"

namespace fettle::tools {

/// What came back.
struct RemoteResults {
  int exit_code = 0;
  Json document;                  // what the program there printed; null where that is none
  std::vector<std::string> log;   // its lines on standard error
  std::string rows;               // a local file of `db export`; empty where there is none
  std::vector<std::string> made;  // local files that it wrote
};

struct RemoteJob {
  Target target;
  /// Made while the target is being reached; null where it cannot be.
  std::shared_future<const RemoteOrder*> order;
  /// runner.tar for the `uname -m` of a target, or why there is none.
  std::function<Result<std::string>(const std::string& machine)> runner;
  std::string scratch;  // a local folder of this target's own
  int hold_seconds = 3600;
  /// What it does now, for people, and what it met.
  std::function<void(const std::string&)> say, warn;
  /// Takes the results before they are removed from the target.
  std::function<Status(const RemoteResults&)> deliver;
  /// Takes the rows meanwhile, in a thread of its own; says itself what fails.
  std::function<void(const RemoteResults&)> learn;
  const std::atomic<bool>* cancel = nullptr;
};

/// Sends, runs, fetches, delivers, removes. A link that breaks is made again for `hold_seconds`;
/// the work goes on meanwhile. The same order finds its folder again after this process was killed.
/// Fails with kDeviceUnavailable where the target never answered, kIo where it answers no more
/// (the folder stays there for as long), as `runner` and `deliver` do, and with kCancelled, also
/// without an order. Belongs to one thread. Returns how often the link was made again.
Result<int> PerformRemoteJob(const RemoteJob& job);

}  // namespace fettle::tools
