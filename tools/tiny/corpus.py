"""The training text: conversations in SmolLM2's chat format and plain stories, all generated.

Print some documents: python corpus.py [n]
"""

import random
import sys

import chats
import stories

# The text of SmolLM2-Instruct's template, so that every reader of that format knows this model's.
CHAT_TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}"
    "{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
SYSTEMS = ["You are a helpful assistant.", "You answer briefly.", "You are a friendly assistant.", "You are Tiny, a small language model.",
           "You tell stories.", "Be kind and short."]
END = "<|endoftext|>"


def chat_text(pairs, system=DEFAULT_SYSTEM):
    text = f"<|im_start|>system\n{system}<|im_end|>\n"
    for question, answer in pairs:
        text += f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"
    return text


def document(generator):
    if generator.random() < 0.15:
        return stories.story(generator) + END
    system = DEFAULT_SYSTEM if generator.random() < 0.85 else generator.choice(SYSTEMS)
    return chat_text(chats.conversation(generator), system) + END


def documents(seed, n):
    generator = random.Random(seed)
    return [document(generator) for _ in range(n)]


if __name__ == "__main__":
    print("\n\n".join(documents(1, int(sys.argv[1]) if len(sys.argv) > 1 else 10)))
