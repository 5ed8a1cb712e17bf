// Finds steps of a plan that run faster as one launch (exec::StepChain), by comparing whole runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "tuner/network/gate.h"

namespace fettle::tuner {

/// A chain that was tried, and the result.
struct TriedChain {
  exec::StepChain chain;
  bool kept = false;
  double ratio = 0;  // of the time of a run without it; 0: it could not be
  std::string reason;

  bool operator==(const TriedChain&) const = default;
};

/// For people: "16 steps, 1 to 16, as one launch: faster: ...".
std::string ChainText(const TriedChain& tried);

/// A line each, as the store keeps them, and back (kCorrupt).
std::string PrintChains(const std::vector<TriedChain>& tried);
Result<std::vector<TriedChain>> ParseChains(std::string_view text);

/// Proposed chains, best first: steps behind each other that launch with one set of options and are
/// all short. Steps whose work-groups have one size and are no more than the compute units count
/// twice. `steps`: the profile of a run that waited for each of the plan's steps.
std::vector<exec::StepChain> ProposeChains(const exec::Plan& plan,
                                           const std::vector<exec::StepProfile>& steps);

/// Tries the proposals, and the halves of those that gain nothing, each beside the chains kept
/// before. A chain is kept if its outputs equal those of the launches to the bit, the run is faster
/// with confidence, and its mean is no slower: only the mean shows work-groups that wait for one
/// that has no core yet. References must outlive it. Not synchronised.
class ChainSearch {
 public:
  /// A session on the plan with these chains.
  using NewSession = std::function<Result<std::shared_ptr<runtime::Session>>(
      const std::vector<exec::StepChain>& chains, bool waits_for_steps)>;

  ChainSearch(const exec::Plan& plan, const runtime::TensorMap& inputs, NewSession new_session,
              const GateOptions& gate, int64_t until_ns)
      : plan_(plan),
        inputs_(inputs),
        new_session_(std::move(new_session)),
        gate_(gate),
        until_ns_(until_ns) {}

  /// kCancelled, or where a session without chains fails.
  Status Run(std::shared_ptr<runtime::Session> without);

  const std::vector<TriedChain>& tried() const { return tried_; }
  /// Whether time ran out before all were tried.
  bool ran_out() const { return ran_out_; }
  /// Those kept, and a session on them.
  const std::vector<exec::StepChain>& chains() const { return chains_; }
  const std::shared_ptr<runtime::Session>& session() const { return session_; }

 private:
  /// Whether the chain was kept.
  Result<bool> Try(const exec::StepChain& chain);
  Result<bool> Compare(runtime::Session& with, TriedChain& tried);

  const exec::Plan& plan_;
  const runtime::TensorMap& inputs_;
  NewSession new_session_;
  GateOptions gate_;
  int64_t until_ns_;
  bool ran_out_ = false;
  std::shared_ptr<runtime::Session> session_;
  runtime::TensorMap outputs_;
  std::vector<exec::StepChain> chains_;
  std::vector<TriedChain> tried_;
};

}  // namespace fettle::tuner
