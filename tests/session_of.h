// A session of a graph's text.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::runtime {

/// What cannot be made fails the test.
inline std::unique_ptr<Session> SessionOf(const std::string& text, SessionOptions options) {
  Result<ir::Graph> graph = ops::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  const auto model = Model::FromGraph(std::move(graph).value(), "m");
  EXPECT_TRUE(model.ok()) << model.status().message();
  auto session = Session::Create(*model, std::move(options));
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(session).value();
}

}  // namespace fettle::runtime
