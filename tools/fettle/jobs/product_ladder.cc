#include "jobs/product_ladder.h"

#include <algorithm>

#include "jobs/textbook_products.h"
#include "kernels/backend.h"
#include "runtime/model.h"

namespace fettle::tools {
namespace {

using planner::Choice;
using planner::GroupChoices;

/// Everything that can make a product.
struct ListedProduct {
  GroupChoices choices;
  bool constant_b = false;
  int threads = 1;
};

/// Null: the CPU computes.
const Device* AcceleratorOf(const DeviceSet& devices) {
  return devices.beside_cpu().empty() ? nullptr : devices.beside_cpu()[0];
}

kernels::ProductLadder LadderOf(const Device* accelerator) {
  const kernels::Backend* const backend =
      accelerator == nullptr ? nullptr : kernels::FindBackend(accelerator->kind());
  const bool has_one = backend != nullptr && backend->product_ladder != nullptr;
  return has_one ? backend->product_ladder() : kernels::ProductLadder();
}

/// Whether floats are stored as what they are.
bool StoresItsTypes(const Choice& choice, const ir::Graph& group) {
  for (size_t i = 0; i < group.inputs.size(); ++i)
    if (choice.states().inputs[i].storage != group.value(group.inputs[i]).dtype) return false;
  return choice.states().outputs[0].storage == group.value(group.outputs[0]).dtype;
}

/// Below high precision networks may store f32 and bf16 as f16; a product has the operands that it
/// has, or wider ones where no kernel stores those.
void KeepStoredTypes(const ir::Graph& group, std::vector<Choice>& choices) {
  const auto stores_others = [&](const Choice& choice) { return !StoresItsTypes(choice, group); };
  const auto narrows = [&](const Choice& choice) {
    return stores_others(choice) && choice.states().inputs[0].storage == DType::kF16;
  };
  if (std::all_of(choices.begin(), choices.end(), stores_others))
    std::erase_if(choices, narrows);
  else
    std::erase_if(choices, stores_others);
}

Result<ListedProduct> ListAll(const runtime::ProductProblem& problem,
                              const std::shared_ptr<const Constant>& b, const DeviceSet& devices,
                              const ProductListing& listing) {
  ASSIGN_OR_RETURN(ir::Graph product, runtime::ProductGraph(problem, b));
  ASSIGN_OR_RETURN(const auto model, runtime::Model::FromGraph(std::move(product), "gemm"));
  const ir::Graph& graph = model->graph();
  const Device* const accelerator = AcceleratorOf(devices);
  const planner::Limits limits{
      .threads = listing.threads,
      .preferred = accelerator != nullptr ? accelerator->kind() : devices.cpu().kind(),
      .accelerator_only = accelerator != nullptr,
      .precision = listing.precision};
  for (const passes::Group& group : passes::ListGroups(graph)) {
    if (group.nodes.size() < graph.nodes().size()) continue;
    GroupChoices choices = ListChoices(graph, group, devices, limits);
    std::erase_if(choices.choices,
                  [](const Choice& choice) { return choice.kernel->is_reference(); });
    KeepStoredTypes(*choices.fragment.graph, choices.choices);
    return ListedProduct{std::move(choices), b != nullptr, listing.threads};
  }
  return Unsupported("gemm: this product takes {} operators, and none computes it alone",
                     graph.nodes().size());
}

class Lister {
 public:
  Lister(const runtime::ProductProblem& problem, const DeviceSet& devices)
      : problem_(problem), devices_(devices) {}

  void Add(std::string_view name, const ListedProduct& product, const kernels::KernelDesc& kernel,
           const kernels::StateAssignment& states, int threads,
           const std::vector<std::pair<std::string_view, int64_t>>& changes = {}) {
    tuner::Candidate candidate{.kernel = &kernel,
                               .problem = {product.choices.fragment.graph, states, threads},
                               .params = {}};
    candidate.params =
        kernels::DefaultParams(kernel, candidate.problem, *devices_.Find(kernel.device()));
    for (const auto& [parameter, value] : changes) candidate.params[std::string(parameter)] = value;
    lines_.push_back({.name = std::string(name),
                      .kernel = std::string(kernel.name),
                      .constant_b = product.constant_b,
                      .candidate = std::move(candidate),
                      .refused = {}});
  }

  /// What a network takes before anything is measured.
  void AddPreferred(std::string name, const ListedProduct& product, int threads) {
    if (!product.choices.choices.empty()) {
      const Choice& first = product.choices.choices.front();
      return Add(name, product, *first.kernel, first.states(), threads);
    }
    lines_.push_back({.name = std::move(name),
                      .kernel = {},
                      .constant_b = product.constant_b,
                      .candidate = std::nullopt,
                      .refused = "only the reference computes this product here"});
  }

  void AddTextbook(const ListedProduct& product) {
    for (const TextbookProduct& one : TextbookProducts())
      Add(one.name, product, one.kernel, kernels::RowMajorStates(*product.choices.fragment.graph),
          1);
  }

  void AddStep(const kernels::LadderStep& step, const ListedProduct& product) {
    const auto& choices = product.choices.choices;
    const auto found = std::find_if(choices.begin(), choices.end(), [&](const Choice& choice) {
      return choice.kernel->name == step.kernel &&
             (step.is_form == nullptr || step.is_form(choice.states()));
    });
    const bool applies = step.applies == nullptr || step.applies(problem_.m, problem_.n);
    if (found != choices.end() && applies)
      return Add(step.name, product, *found->kernel, found->states(), product.threads,
                 step.changes);
    std::string refused =
        applies ? "not in this form" : fmt::format("m is {} and n is {}", problem_.m, problem_.n);
    for (const planner::Rejection& one : product.choices.rejected)
      if (one.kernel == step.kernel) refused = one.reason;
    lines_.push_back({.name = std::string(step.name),
                      .kernel = std::string(step.kernel),
                      .constant_b = product.constant_b,
                      .candidate = std::nullopt,
                      .refused = std::move(refused)});
  }

  std::vector<ProductLine> Take() { return std::move(lines_); }

 private:
  const runtime::ProductProblem& problem_;
  const DeviceSet& devices_;
  std::vector<ProductLine> lines_;
};

}  // namespace

Result<std::vector<ProductLine>> ListProductLines(const runtime::ProductProblem& problem,
                                                  const std::shared_ptr<const Constant>& b,
                                                  const DeviceSet& devices,
                                                  const ProductListing& listing) {
  const bool ladder = listing.ladder;
  ASSIGN_OR_RETURN(const ListedProduct constant, ListAll(problem, b, devices, listing));
  ASSIGN_OR_RETURN(const ListedProduct given, ListAll(problem, nullptr, devices, listing));
  Lister lister(problem, devices);
  const bool is_float = IsFloat(problem.a);
  const bool is_plain = problem.a == DType::kF32 && problem.batch == 1 && !problem.trans_a &&
                        !problem.trans_b && !problem.is_scaled();
  const kernels::ProductLadder steps =
      ladder ? LadderOf(AcceleratorOf(devices)) : kernels::ProductLadder();
  if (is_float && !steps.floats.empty()) {
    for (const kernels::LadderStep& step : steps.floats) lister.AddStep(step, given);
    return lister.Take();
  }
  if (!is_float)
    for (const kernels::LadderStep& step : steps.bytes) lister.AddStep(step, constant);
  if (ladder && AcceleratorOf(devices) == nullptr && is_plain) lister.AddTextbook(given);
  if (ladder && AcceleratorOf(devices) == nullptr && listing.threads > 1)
    lister.AddPreferred("packed, 1 thread", constant, 1);
  lister.AddPreferred("packed", constant, listing.threads);
  lister.AddPreferred("B given with each product", given, listing.threads);
  return lister.Take();
}

}  // namespace fettle::tools
