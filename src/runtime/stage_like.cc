// Stages made of others.
#include <algorithm>

#include "runtime/stage.h"

namespace fettle::runtime {

const ir::Graph* Stage::OnlySegment() const {
  const auto is_program = [](const Source& source) {
    return source.kind == Source::Kind::kProgram;
  };
  const bool only = program_ != nullptr && control_ == nullptr && next_ == nullptr &&
                    std::ranges::all_of(outputs_, is_program);
  return only ? segment_.get() : nullptr;
}

std::shared_ptr<const Stage> Stage::Example() const {
  std::shared_ptr<Stage> example(new Stage(devices_));
  example->segment_ = segment_;
  example->program_output_types_ = program_output_types_;
  example->outputs_ = outputs_;
  return example;
}

Result<std::unique_ptr<Stage>> Stage::Like(const Stage& like, exec::NearPrograms& programs,
                                           const exec::NearGraph& near,
                                           const std::vector<ir::ValueId>& values, Context& context,
                                           std::shared_ptr<const exec::Program> spare) {
  std::unique_ptr<Stage> stage(new Stage(like.devices_));
  stage->segment_ = like.segment_;
  stage->outputs_ = like.outputs_;
  for (ir::ValueId id : like.segment_->outputs) {
    const ir::Value& value = near.graph->value(values[id]);
    stage->program_output_types_.emplace_back(value.dtype, *value.shape);
  }
  ASSIGN_OR_RETURN(stage->program_,
                   programs.Build(near, like.devices_, context.packed, context.cancelled_by_caller,
                                  stage->Beside(context), std::move(spare)));
  context.has_default_plans = true;
  context.preparation.Add(stage->program_->build_times());
  RETURN_IF_ERROR(context.memory.Reserve(stage->program_->memory_plan(), like.devices_));
  return stage;
}

}  // namespace fettle::runtime
