"""Segments of paths, trees and URIs, and the sidecar files next to them."""
