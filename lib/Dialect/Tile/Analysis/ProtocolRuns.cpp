//===- ProtocolRuns.cpp - which runs decide for all -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles whose events are alike up to the ops that make them are one letter; a run
// is a word. Of alike tiles the words use one after the other, so that every op
// occurs.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ProtocolGraph.h"

#include "llvm/ADT/Hashing.h"

#include <functional>
#include <map>

using namespace mlir;
using namespace fa4::tile;

/// Equal for graphs whose events differ in their ops only.
static size_t signatureOf(const ProtocolGraph &graph) {
  llvm::hash_code code(graph.objects.size());
  for (const ProtocolEvent &event : graph.events) {
    code = llvm::hash_combine(code, static_cast<int>(event.kind), event.actor, event.object,
                              event.phase, event.stream, event.order, event.fences);
    for (const MemoryAccess &access : graph.accessesOf(event)) {
      code = llvm::hash_combine(code, access.region, access.footprint, access.reads, access.writes);
    }
  }
  return code;
}

FailureOr<std::vector<ProtocolLetter>> fa4::tile::protocolLetters(ProtocolModel &model,
                                                                  int64_t trips) {
  std::map<std::pair<int32_t, size_t>, ProtocolLetter> letters;
  for (const TileNumbers &tile : model.tiles(trips)) {
    FailureOr<ProtocolGraph> graph = ProtocolGraph::build(model, {tile});
    if (failed(graph)) {
      return failure();
    }
    int32_t size = graph->tileBegin.back();
    if (size > trips) {
      continue;
    }
    ProtocolLetter &letter = letters[{size, signatureOf(*graph)}];
    letter.trips = size;
    letter.tiles.push_back(tile);
  }
  std::vector<ProtocolLetter> result;
  for (auto &[key, letter] : letters) {
    result.push_back(std::move(letter));
  }
  return result;
}

std::vector<ProtocolRun> fa4::tile::protocolRuns(ProtocolModel &model, int64_t trips,
                                                 size_t limit) {
  FailureOr<std::vector<ProtocolLetter>> found = protocolLetters(model, trips);
  if (failed(found)) {
    return {};
  }
  const std::vector<ProtocolLetter> &letters = *found;
  std::vector<ProtocolRun> runs{{}};
  for (const ProtocolLetter &letter : letters) {
    for (const TileNumbers &tile : letter.tiles) {
      runs.push_back({tile});
    }
  }
  if (model.kernel.getSchedule().getPlan().work == WorkKind::OnePerCluster) {
    return runs;
  }
  std::vector<size_t> next(letters.size(), 0);
  std::vector<unsigned> word;
  // Words of exactly `left` more trips, so that shorter runs come first.
  std::function<void(int64_t)> extend = [&](int64_t left) {
    if (runs.size() > limit) {
      return;
    }
    if (left == 0 && word.size() > 1) {
      ProtocolRun run;
      for (unsigned letter : word) {
        const std::vector<TileNumbers> &tiles = letters[letter].tiles;
        run.push_back(tiles[next[letter]++ % tiles.size()]);
      }
      runs.push_back(std::move(run));
      return;
    }
    for (auto [index, letter] : llvm::enumerate(letters)) {
      if (letter.trips <= left) {
        word.push_back(index);
        extend(left - letter.trips);
        word.pop_back();
      }
    }
  };
  for (int64_t total = 2; total <= trips; ++total) {
    extend(total);
  }
  return runs;
}
