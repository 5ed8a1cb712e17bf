// The caller's tensors that one run reads and writes in place.
#pragma once

#include <map>
#include <memory>
#include <span>
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
  bool has_all_outputs() const;
};

using BufferMap = std::map<std::string, std::shared_ptr<TensorBuffer>>;

/// The tensors by name; those on a device without bytes.
std::map<std::string, Tensor> HostTensorsOf(const BufferMap& buffers);

/// The tensors in device memory for a run of `graph`, by the names of its inputs and outputs;
/// refers to the buffers. kNotFound where `outputs` names no output of the graph.
Result<Bindings> BindingsOf(const ir::Graph& graph, const BufferMap& inputs,
                            const BufferMap& outputs);

/// The tensors that a session got last. Runs with the same tensors look up no names and allocate
/// nothing. Tensors are known by their ids and not kept alive. Belongs to one thread at a time.
class LastTensors {
 public:
  bool AreOf(const BufferMap& inputs, const BufferMap& outputs) const;
  /// After BindingsOf, whose result this keeps, and once all of the graph's inputs are known to be
  /// among `inputs`.
  void Set(const ir::Graph& graph, const BufferMap& inputs, const BufferMap& outputs,
           Bindings bindings);
  /// Valid as long as the tensors of the call for which AreOf was true, or of Set.
  const Bindings& bindings() const { return bindings_; }
  /// In the graph's order.
  std::span<const TensorBuffer* const> inputs() const { return inputs_; }

 private:
  std::vector<std::pair<std::string, uint64_t>> ids_;  // inputs by name, then outputs
  size_t input_count_ = 0;
  Bindings bindings_;
  std::vector<const TensorBuffer*> inputs_;
};

/// Keeps maps and other runs from the tensors of one run.
class RunHolds {
 public:
  RunHolds() = default;
  ~RunHolds() { Release(); }
  RunHolds(const RunHolds&) = delete;
  RunHolds& operator=(const RunHolds&) = delete;
  /// kBusy, naming the input or output, where one is mapped or in use.
  Status Take(const BufferMap& inputs, const BufferMap& outputs);
  void Release();

 private:
  Status TakeAll(const BufferMap& buffers, std::string_view what, bool writes);
  std::vector<std::pair<std::shared_ptr<TensorBuffer>, bool>> held_;
};

/// Whether a tensor can hold a run's result; kInvalidArgument naming both types and shapes.
Status CheckOutput(std::string_view name, const TensorBuffer& buffer, DType dtype,
                   const Shape& shape);

}  // namespace fettle::runtime
