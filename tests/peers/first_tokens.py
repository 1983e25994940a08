"""first_tokens.py MODEL TEXT…: loads a model with llama.cpp, by mmap, and writes to stdout as JSON how
it goes on with each text, the likeliest token each time."""

import json
import os
import sys
import time

import xllamacpp

N_TOKENS = 12


def parameters(path):
    found = xllamacpp.CommonParams()
    found.model.path = path
    found.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_MMAP
    found.no_extra_bufts = True  # the weights stay where they are mapped
    found.n_gpu_layers = 0
    found.n_ctx = 256
    found.n_parallel = 1
    found.warmup = False
    found.fit_params = False
    return found


def continuation(server, text):
    answer = server.handle_completions({"prompt": text, "n_predict": N_TOKENS, "temperature": 0,
                                        "logprobs": 1, "cache_prompt": False})
    choice, = answer["choices"]
    return {"text": choice["text"],
            "tokens": [[one["id"], one["logprob"]] for one in choice["logprobs"]["content"]]}


def main():
    path, *texts = sys.argv[1:]
    results = os.dup(1)
    os.dup2(2, 1)  # llama.cpp talks
    start = time.perf_counter()
    server = xllamacpp.Server(parameters(path))
    seconds = time.perf_counter() - start
    found = [continuation(server, text) for text in texts]
    with open("/proc/self/maps") as maps:
        is_mapped = any(line.rstrip().endswith(f" {path}") for line in maps)
    with open(results, "w") as out:
        json.dump({"found": found, "is_mapped": is_mapped, "seconds": seconds}, out)


if __name__ == "__main__":
    main()
