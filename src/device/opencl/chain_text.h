// The text of a program that does what several launches do, one after the other, in one launch.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/opencl/kernel_arg.h"
#include "device/opencl/programs.h"

namespace fettle {

/// One launch of a chain.
struct ChainStage {
  const ProgramSource* program = nullptr;
  std::string_view function;
  std::array<size_t, 3> groups{1, 1, 1}, lws{1, 1, 1};
  std::span<const KernelArg> args;
  size_t local_bytes = 0;  // that the function declares

  size_t items() const { return lws[0] * lws[1] * lws[2]; }
};

/// How a chain is compiled.
struct ChainForm {
  size_t items = 0;        // of a work-group, the most that a stage has
  size_t places = 1;       // work-groups of the launch
  size_t local_bytes = 0;  // that a work-group may have
  bool ptx = false;        // the device takes PTX in OpenCL C
};

/// OK, or why launches of `program` cannot be part of a chain: it counts work-groups, or has
/// images.
Status CheckChains(const ProgramSource& program);
/// The options of a compiler but for macros, which all stages share.
std::string OptionsWithoutMacros(const std::string& options);

/// The kernel of a chain's program. Its arguments are the state of its barrier (two uint: how many
/// work-groups have come, and whether one has waited in vain; both 0 between launches), how often a
/// work-group looks whether the others have come, and then memory().
inline constexpr std::string_view kChainFunction = "chain";

/// Stages keep their own sources, macros and work-groups: each becomes a function that is called
/// for its work-groups in turn, and between two stages all work-groups of the launch meet. Where
/// barriers of some warps are to be had (ChainForm::ptx), work-groups of a stage that are smaller
/// than the chain's share one.
/// Arguments but memory objects are written into the text.
class ChainText {
 public:
  explicit ChainText(const ChainForm& form) : form_(form) {}

  /// kUnsupported where a stage cannot be part of it, which ends the chain's use.
  Status Add(const ChainStage& stage);

  ProgramSource Source() const;
  /// Each object once, in the order of the kernel's parameters.
  const std::vector<cl_mem>& memory() const { return memory_; }

 private:
  struct Function {
    std::string name;
    size_t local_bytes;  // of its arrays with what lies between them
  };
  Status Check(const ChainStage& stage) const;
  /// The function that `stage` is, which is added where there is no equal one.
  Result<Function> FunctionOf(const ChainStage& stage);
  void AddLoop(const ChainStage& stage, const Function& function, const std::string& arguments);
  /// Its arguments as OpenCL C, each behind a comma.
  Result<std::string> ArgumentsOf(const ChainStage& stage);

  ChainForm form_;
  size_t stages_ = 0, local_bytes_ = 0;
  std::string language_;  // options but macros
  std::string functions_, body_;
  std::map<std::string, Function> known_;  // by what they are made of
  std::vector<cl_mem> memory_;
};

}  // namespace fettle
