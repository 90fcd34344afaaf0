"""A seeded simulation of the whole scheduler: the real engine, dispatch loop, receiver and client in a simulated world.

What is simulated is time, the platform (alarms, calls, crashes), the network, the app's functions and its users.
"""
