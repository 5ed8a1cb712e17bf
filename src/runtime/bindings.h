// The caller's tensors that one run reads and writes in place.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/tensor_buffer.h"

namespace fettle::runtime {

/// One entry per graph input and output, null where the run has a host tensor of its own. All in
/// memory of the devices that the run uses.
struct Bindings {
  std::vector<const TensorBuffer*> inputs, outputs;
  bool on_device() const;
};

using BufferMap = std::map<std::string, std::shared_ptr<TensorBuffer>>;

/// What a run of `graph` is given in memory of devices, by the names of its inputs and outputs;
/// refers to the buffers. kNotFound where `outputs` names none of the graph's.
Result<Bindings> BindingsOf(const ir::Graph& graph, const BufferMap& inputs,
                            const BufferMap& outputs);

/// Keeps maps and other runs away from the tensors of one run.
class RunHolds {
 public:
  RunHolds() = default;
  ~RunHolds();
  RunHolds(const RunHolds&) = delete;
  RunHolds& operator=(const RunHolds&) = delete;
  /// kBusy, naming the input or output, where one is mapped or in use.
  Status Take(const BufferMap& inputs, const BufferMap& outputs);

 private:
  Status TakeAll(const BufferMap& buffers, std::string_view what, bool writes);
  std::vector<std::pair<std::shared_ptr<TensorBuffer>, bool>> held_;
};

/// Whether a tensor can hold what a run gives; kInvalidArgument naming both.
Status CheckOutput(std::string_view name, const TensorBuffer& buffer, DType dtype,
                   const Shape& shape);

}  // namespace fettle::runtime
