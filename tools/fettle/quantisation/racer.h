// Two networks in turns: what one takes beside the other.
#pragma once

#include <memory>
#include <string>

#include "quantise/speed.h"
#include "runtime/session.h"

namespace fettle::tools {

/// Runs others in turns with one network, all on default plans. Belongs to one thread.
class Racer {
 public:
  /// `inputs` of an inference; it has to outlive this.
  Racer(std::shared_ptr<const runtime::Model> model, runtime::SessionOptions options,
        const runtime::TensorMap& inputs)
      : model_(std::move(model)), options_(std::move(options)), inputs_(inputs) {}

  /// `bytes`: a ModelProto with the same inputs. Fails as Model::LoadBytes and Session::Run do.
  Result<quantise::RaceTimes> Run(const std::string& bytes);
  /// Of the sessions that ran, at least one.
  int threads() const { return session_ ? session_->threads() : 0; }

 private:
  const std::shared_ptr<const runtime::Model> model_;
  const runtime::SessionOptions options_;
  const runtime::TensorMap& inputs_;
  std::unique_ptr<runtime::Session> session_;
};

}  // namespace fettle::tools
