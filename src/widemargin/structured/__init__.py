"""Structured prediction: tags, trees and whatever else an argmax can find."""
