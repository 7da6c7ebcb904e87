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
    FailureOr<ProtocolGraph> graph = ProtocolGraph::build(model, {tile}, /*ordered=*/false);
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

/// Those of `tiles` in which each number is its least or its greatest: each of the loops
/// that the numbers part has all trips in one of them.
static std::vector<TileNumbers> getExtremes(ArrayRef<TileNumbers> tiles) {
  if (tiles.empty()) {
    return {};
  }
  TileNumbers least = tiles.front(), greatest = least;
  for (const TileNumbers &tile : tiles) {
    for (size_t number = 0; number < tile.size(); ++number) {
      least[number] = std::min(least[number], tile[number]);
      greatest[number] = std::max(greatest[number], tile[number]);
    }
  }
  std::vector<TileNumbers> extremes;
  for (const TileNumbers &tile : tiles) {
    bool isExtreme = true;
    for (size_t number = 0; number < tile.size(); ++number) {
      isExtreme &= tile[number] == least[number] || tile[number] == greatest[number];
    }
    if (isExtreme) {
      extremes.push_back(tile);
    }
  }
  return extremes;
}

/// The extremes among the tiles of exactly `trips` trips whose largest number says so.
static std::vector<TileNumbers> findTiles(ProtocolModel &model, ArrayRef<TileNumbers> tiles,
                                          int64_t trips) {
  std::vector<TileNumbers> found;
  llvm::copy_if(tiles, std::back_inserter(found),
                [&](const TileNumbers &tile) { return *llvm::max_element(tile) == trips; });
  found = getExtremes(found);
  llvm::erase_if(found, [&](const TileNumbers &tile) {
    FailureOr<ProtocolGraph> graph = ProtocolGraph::build(model, {tile}, /*ordered=*/false);
    return failed(graph) || graph->tileBegin.back() != trips;
  });
  return found;
}

std::vector<ProtocolRun> fa4::tile::protocolRuns(ProtocolModel &model, int64_t trips) {
  constexpr int64_t kAllWords = 5, kAllTiles = 3;
  FailureOr<std::vector<ProtocolLetter>> letters =
      protocolLetters(model, std::min(trips, kAllWords));
  if (failed(letters)) {
    return {};
  }
  std::vector<ProtocolRun> runs = protocolWords(model, *letters, std::min(trips, kAllWords));
  llvm::SmallDenseMap<int64_t, const ProtocolLetter *> ofLength;
  for (const ProtocolLetter &letter : *letters) {
    ofLength.insert({letter.trips, &letter});
    if (letter.trips > kAllTiles) {
      // Within a word of this length only one of them may stand.
      for (TileNumbers &tile : getExtremes(letter.tiles)) {
        runs.push_back({std::move(tile)});
      }
    } else {
      // One that stands for its letter is there already.
      for (const TileNumbers &tile : ArrayRef<TileNumbers>(letter.tiles).drop_front()) {
        runs.push_back({tile});
      }
    }
  }
  if (trips <= kAllWords) {
    return runs;
  }
  // A ring goes round within tiles, and over the ends of short ones.
  std::vector<TileNumbers> tiles = model.tiles(trips);
  for (TileNumbers &tile : findTiles(model, tiles, trips)) {
    runs.push_back({std::move(tile)});
  }
  if (!model.hasManyTiles()) {
    return runs;
  }
  for (int64_t size = 1; size <= kAllTiles; ++size) {
    const ProtocolLetter *few = ofLength.lookup(size);
    if (!few) {
      continue;
    }
    ProtocolRun run;
    for (int64_t done = 0; done < trips; done += size) {
      run.push_back(few->tiles[run.size() % few->tiles.size()]);
    }
    runs.push_back(std::move(run));
    std::vector<TileNumbers> rest = findTiles(model, tiles, trips - size);
    if (!rest.empty()) {
      runs.push_back({few->tiles.front(), rest.front()});
      runs.push_back({rest.back(), few->tiles.front()});
    }
  }
  return runs;
}

std::vector<ProtocolRun> fa4::tile::protocolWords(ProtocolModel &model,
                                                  ArrayRef<ProtocolLetter> letters, int64_t trips,
                                                  size_t limit, int64_t least) {
  std::vector<ProtocolRun> runs{{}};
  for (const ProtocolLetter &letter : letters) {
    if (letter.trips <= trips) {
      runs.push_back({letter.tiles.front()});
    }
  }
  if (!model.hasManyTiles()) {
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
  for (int64_t total = std::max<int64_t>(least, 2); total <= trips; ++total) {
    extend(total);
  }
  return runs;
}

/// A binary word in which every word of `length` occurs once, read around: the
/// Lyndon words whose lengths divide `length`, in order (Fredricksen and Maiorana).
static std::vector<bool> deBruijnWord(int64_t length) {
  std::vector<bool> sequence, current(length + 1, false);
  std::function<void(int64_t, int64_t)> extend = [&](int64_t position, int64_t period) {
    if (position > length) {
      if (length % period == 0) {
        sequence.insert(sequence.end(), current.begin() + 1, current.begin() + 1 + period);
      }
      return;
    }
    current[position] = current[position - period];
    extend(position + 1, period);
    if (!current[position - period]) {
      current[position] = true;
      extend(position + 1, position);
    }
  };
  extend(1, 1);
  return sequence;
}

std::vector<ProtocolRun>
fa4::tile::protocolLongRuns(ProtocolModel &model, ArrayRef<ProtocolLetter> letters, int64_t trips) {
  if (!model.hasManyTiles()) {
    return {};
  }
  // A window of nothing but the inside of a tile has its first trip before it.
  if (static_cast<int64_t>(letters.size()) != trips + 1) {
    return {};
  }
  std::vector<bool> starts = deBruijnWord(trips);
  // Round once, and on until the last windows have their next accesses, too; a run
  // begins where a tile does.
  std::vector<int64_t> sizes;
  int64_t total = static_cast<int64_t>(starts.size()) + 3 * trips, open = 0;
  for (int64_t k = 0; k < total; ++k) {
    if (starts[k % starts.size()] && open > 0) {
      sizes.push_back(open);
      open = 0;
    }
    ++open;
  }
  sizes.push_back(open);
  std::vector<size_t> next(letters.size(), 0);
  std::vector<ProtocolRun> runs;
  constexpr int64_t kTripsPerRun = 256;
  for (size_t first = 0; first < sizes.size();) {
    ProtocolRun run;
    int64_t length = 0;
    size_t tile = first;
    for (; tile < sizes.size() && length < kTripsPerRun; ++tile) {
      const std::vector<TileNumbers> &tiles = letters[sizes[tile] - 1].tiles;
      run.push_back(tiles[next[sizes[tile] - 1]++ % tiles.size()]);
      length += sizes[tile];
    }
    runs.push_back(std::move(run));
    if (tile == sizes.size()) {
      break;
    }
    // The next run begins early enough that no window is cut.
    for (int64_t overlap = 0; overlap < 2 * trips && tile > first + 1;) {
      overlap += sizes[--tile];
    }
    first = tile;
  }
  return runs;
}
